"""Real configurations that are not part of this repository: `PERDURE_CORPUS` names the folder that holds them."""
