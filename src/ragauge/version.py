"""The version of ragauge."""

VERSION = "0.1.0"
