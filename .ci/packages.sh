# What the scripts that install packages share; to be sourced.

found() { # is any of these files there?
    for file in "$@"; do [ -e "$file" ] && return 0; done
    return 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        echo "Needs root and finds no sudo. Run this as root, then again: $*" >&2
        exit 1
    fi
}

manager=""
for each in apt-get dnf pacman zypper apk brew; do
    command -v "$each" >/dev/null 2>&1 && manager=$each && break
done

install_packages() { # with the manager of this system
    case $manager in
    apt-get)
        as_root apt-get update -q || echo "apt-get update failed; trying with the lists that are there." >&2
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
        ;;
    dnf) as_root dnf install -y "$@" ;;
    pacman) as_root pacman -Sy --needed --noconfirm "$@" ;;
    zypper) as_root zypper --non-interactive install "$@" ;;
    apk) as_root apk add "$@" ;;
    brew) brew install "$@" ;; # never as root
    esac
}
