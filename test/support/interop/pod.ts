/**
 * Runs a container of a manifest without a container runtime, in a separate mount namespace: with the
 * paths, users, groups, modes and read-only file systems that a kubelet gives it. The program is that of the
 * checkout.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LAUNCHER, type RunningProcess, startProcess } from '../processes/processes.ts'
import { newFolder } from '../suite/resources.ts'
import type { Container, PodSpec, Volume } from './manifests.ts'

/** Why that cannot be done; `undefined`: it can. */
export function whyNoPods(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can start processes of other users'
  const script = `${NEW_ROOT}\nexec setpriv --reuid=10001 --regid=10001 --clear-groups "$@"`
  const program = [process.execPath, LAUNCHER, '--version']
  const { status, stderr } = spawnSync('unshare', ['--mount', 'sh', '-ec', script, 'sh', ...program], {
    encoding: 'utf8',
  })
  return status === 0
    ? undefined
    : `no mount namespaces here, or other users cannot read the checkout: ${stderr}`
}

/** Folders in which volumes are mounted, without what this machine has there. */
const NEW_ROOT = `mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
mkdir /mnt/etc /mnt/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/etc,workdir=/mnt/work /etc
mount -t tmpfs tmpfs /var/lib
mount -t tmpfs tmpfs /run`

/**
 * The files in the volumes of a pod: those of Secrets and ConfigMaps, and the folder of an emptyDir, by their
 * names.
 */
export interface VolumeContents {
  readonly files: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly folders: Readonly<Record<string, string>>
}

/** The folder of an emptyDir, as a kubelet makes it. */
export function emptyDir({ securityContext: { fsGroup } }: PodSpec): string {
  const folder = join(newFolder(), 'empty-dir')
  spawnSync('install', ['-d', '-m', '2777', '-g', String(fsGroup), folder])
  return folder
}

export function startContainer(
  pod: PodSpec,
  container: Container,
  contents: VolumeContents,
  environment: Readonly<Record<string, string>>,
): RunningProcess {
  const { fsGroup } = pod.securityContext
  const user = container.securityContext?.runAsUser ?? pod.securityContext.runAsUser
  const group = container.securityContext?.runAsGroup ?? pod.securityContext.runAsGroup
  const mounts = (container.volumeMounts ?? []).map(({ name, mountPath, readOnly = false }) => {
    const volume = pod.volumes.find((each) => each.name === name)
    return volume === undefined ? '' : mounting(volume, mountPath, readOnly, fsGroup, contents)
  })
  const script = [NEW_ROOT, ...mounts, 'mount -o remount,bind,ro /', 'exec "$@"'].join('\n')
  const identity = [`--reuid=${user}`, `--regid=${group}`, `--groups=${fsGroup}`, '--no-new-privs']
  const set = Object.entries({ ...valuesOf(container), ...environment }).map(
    ([name, value]) => `${name}=${value}`,
  )
  return startProcess([
    ...['unshare', '--mount', 'sh', '-ec', script, 'sh'],
    ...['setpriv', ...identity, '--bounding-set=-all', 'env', '-i', ...set],
    ...[process.execPath, LAUNCHER, ...(container.args ?? [])],
  ])
}

function valuesOf({ env = [] }: Container): Record<string, string> {
  return Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])))
}

function mounting(
  { name, secret, configMap }: Volume,
  path: string,
  readOnly: boolean,
  fsGroup: number,
  { files, folders }: VolumeContents,
): string {
  if (secret === undefined && configMap === undefined)
    return `mkdir -p ${path}; mount --bind ${folders[name]} ${path}${readOnly ? `; mount -o remount,bind,ro ${path}` : ''}`
  const mode = ((secret ?? configMap)?.defaultMode ?? 0o644).toString(8)
  const staged = newFolder()
  mkdirSync(join(staged, '..1'))
  for (const [file, text] of Object.entries(files[name] ?? {})) writeFileSync(join(staged, '..1', file), text)
  // The files are links to links, and all users could write the folder, were it not for the read-only
  // mount.
  return `mkdir -p ${path}
mount -t tmpfs -o mode=3777,gid=${fsGroup} tmpfs ${path}
cp -r ${staged}/..1 ${path}/
chmod 755 ${path}/..1; chmod ${mode} ${path}/..1/*; chgrp -R ${fsGroup} ${path}/..1
ln -s ..1 ${path}/..data
(cd ${path}; for file in ..1/*; do ln -s ..data/$(basename $file) $(basename $file); done)
mount -o remount,ro ${path}`
}
