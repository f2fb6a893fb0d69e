resource "none" {}
