"""Where passages come from: the local library, and services on the web."""
