"""The router of pods: what it costs embedded and as nginx, against asking a pod directly."""
