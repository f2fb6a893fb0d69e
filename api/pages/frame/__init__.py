"""What all pages share: templates, responses, assets, live parts, and what addresses name."""
