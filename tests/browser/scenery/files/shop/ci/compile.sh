# Colours, sections, progress lines and a link, as tools write them.
esc=$(printf '\033')
section() { printf 'section_start:%s:%s[collapsed=true]\r%s\n' "$(date +%s)" "$1" "${esc}[0K$2"; }
end() { printf 'section_end:%s:%s\r%s\n' "$(date +%s)" "$1" "${esc}[0K"; }
section prepare "Prepare the compiler"
for number in $(seq 1 40); do echo "prepared $number"; done
end prepare
section compile "Compile"
for number in $(seq 1 20); do printf '\rcompiled %s of 20' "$number"; done
echo
echo "${esc}[31mred${esc}[0m ${esc}[1;32mgreen and bold${esc}[0m ${esc}[38;5;208morange${esc}[0m ${esc}[48;2;20;40;90mblue below${esc}[0m"
end compile
echo "Read https://docs.example/compile for more."
test -s site/index.html
