#!/bin/sh
# A supervisor that knows files alone: it reads the folders of a bridge, writes documents, and moves tasks.
#   supervisor.sh DIR
set -eu
cd "$1"

# The id of a task, out of the name of its file.
id_of() { name=${1##*/} && name=${name#*"$2"_} && echo "${name%.md}"; }

# Whether the turn of a gate is open: the file says so. A task that was moved is not the next one's before the bridge has taken it.
open_at() { [ -f "$1" ] && grep -qx "gate: $2" "$1"; }

requirements() {
    cat <<END
---
checkpoints:
  - {name: stack_aligned, status: pass, message: shell scripts are what there is}
---
# Requirements of $1

## Goal

$(sed -e '/^---$/,/^---$/d' -e 's/^#* *//' "$2")

## Constraints

No new dependencies.
END
}

task() {
    cat <<END
---
estimate: 20m
scope: ["$1*"]
criteria:
  - id: says
    statement: The file says it
    check: grep -qx '$2' $1
$3
---
# Write $1

The file \`$1\` has the line "$2".
END
}

while :; do
    for file in tasks/queue/*NEW_*.md; do
        open_at "$file" brainstorm || continue
        id=$(id_of "$file" NEW)
        # A request that says nothing of its words is asked about once.
        if ! grep -q 'say' "$file" && ! [ -f "docs/requirements/${id}_asked" ]; then
            echo "What are the files to say?" > "tasks/escalations/.asking-$id"
            mv "tasks/escalations/.asking-$id" "tasks/escalations/${id}_CLARIFY.md"
            : > "docs/requirements/${id}_asked"
            continue
        fi
        [ -f "tasks/escalations/${id}_CLARIFY.md" ] && continue
        requirements "$id" "$file" > "docs/requirements/${id}_req.md"
        mv "$file" "${file%NEW_*}DOC_$id.md" 2> /dev/null || :
    done

    for file in tasks/review/*DOC_*.md; do
        open_at "$file" spec-review || continue
        id=$(id_of "$file" DOC)
        if grep -q 'AC-2' "docs/specs/${id}_spec.md"; then
            mv "$file" "tasks/queue/PLAN_$id.md" 2> /dev/null || :
        else
            printf '\n## Comments\n\n- name the second file as AC-2\n' >> "$file"
            mv "$file" tasks/queue/ 2> /dev/null || :
        fi
    done

    for file in tasks/queue/*PLAN_*.md; do
        open_at "$file" plan || continue
        id=$(id_of "$file" PLAN)
        [ -f "docs/plans/${id}_plan.md" ] && continue
        task one "hello" "" > "tasks/queue/EXEC_${id}_01.md"
        task two "world" "depends_on: ['01']" > "tasks/queue/EXEC_${id}_02.md"
        printf '# Plan of %s\n\n- EXEC_%s_01.md: the first file\n- EXEC_%s_02.md: the second file\n' "$id" "$id" "$id" \
            > "docs/plans/.plan-$id"
        mv "docs/plans/.plan-$id" "docs/plans/${id}_plan.md"
    done

    for file in tasks/review/*EXEC_*.md; do
        open_at "$file" review || continue
        id=$(id_of "$file" EXEC)
        # The result of gate 4 is there once it was audited.
        [ -f "state/gates/${id}_4.json" ] || continue
        mv "$file" tasks/completed/ 2> /dev/null || :
    done

    for file in tasks/review/*PLAN_*.md; do
        open_at "$file" track || continue
        id=$(id_of "$file" PLAN)
        set -- tasks/completed/*EXEC_"$id"_02.md
        [ -f "$1" ] || continue
        mv "$file" tasks/completed/ 2> /dev/null || :
    done
    sleep 0.2
done
