"""Pages in Debian's Chromium, by mouse and keyboard."""
