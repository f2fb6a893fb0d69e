"""`python -m steps.service SOCKET FOLDER`: the service as the runner starts it, for one job."""

import asyncio
import sys
from pathlib import Path

from steps.service.serve import serve

if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2])))
