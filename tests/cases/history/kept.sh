# Sourced by the cases: a folder $d that goes away again, a store $s in it with thirty days, and a() for angio with it.
d=$(mktemp -d)
trap 'chmod -R u+w "$d"; rm -rf "$d"' EXIT
s=$d/history.db
python3 ../results.py --days "$d"
$ANGIO history add --store "$s" "$d"/??.json > /dev/null
a() { $ANGIO history "$@" --store "$s" 2>&1 | sed "s#$d#STORE#g"; }
