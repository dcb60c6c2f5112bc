"""Judges that are published models of entailment, run here: by torch, or by ONNX Runtime without torch."""
