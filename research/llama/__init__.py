"""llama.cpp in this process: what a model file says, the loaded model, and the form its replies are held to."""
