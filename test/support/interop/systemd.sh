# A systemd of its own, as process 1 of new namespaces: nothing outside sees what it mounts and starts. Its /etc is a copy that is thrown away.
#
#     unshare --mount --pid --fork --kill-child --cgroup --uts --ipc --net sh systemd.sh CHECKOUT NODE FOLDER
#
# The program is /usr/local/bin/portcullis there, and FOLDER is /mnt/test.
set -e
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /mnt
mkdir /mnt/test /mnt/etc /mnt/work
mount --bind "$3" /mnt/test
mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/etc,workdir=/mnt/work /etc
mount -t tmpfs tmpfs /opt
mkdir /opt/portcullis
mount --bind "$1" /opt/portcullis
mount -t tmpfs tmpfs /etc/systemd/system
touch /opt/node
mount --bind "$2" /opt/node
for folder in /tmp /var/tmp /var/lib /run /usr/local/bin; do
  mount -t tmpfs tmpfs "$folder"
done
chmod 1777 /tmp /var/tmp
printf '#!/bin/sh\nexec /opt/node /opt/portcullis/sidecar/portcullis.js "$@"\n' > /usr/local/bin/portcullis
chmod 755 /usr/local/bin/portcullis
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# What is not a copy cannot be written.
mount -o remount,bind,ro /opt/portcullis
mount -o remount,bind,ro /
# As systemd has it on a machine: it hands credentials to services by a mount.
mount --make-rshared /
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin container=test SYSTEMD_UNIT_PATH=/mnt/test/units:/etc/systemd/system \
  /lib/systemd/systemd --system --log-target=null --show-status=no
