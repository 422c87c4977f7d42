"""The embedded model: llama.cpp in this process, one generic mechanism for all skills."""
