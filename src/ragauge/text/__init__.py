"""Floor 0: pure tools on text: tokens, sentences, and the overlap measures made of them."""
