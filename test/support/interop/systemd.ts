/**
 * A systemd of its own as process 1 of new namespaces (systemd.sh), in which the shipped units run with
 * everything that they forbid.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess } from '../processes/processes.ts'
import { eventually, newFolder } from '../suite/resources.ts'
import { CommandFailed, repository, run } from './command.ts'

const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child', '--cgroup', '--uts', '--ipc', '--net']

/** Targets that units name, without what a machine starts for them. */
const TARGETS = ['sysinit', 'basic', 'shutdown', 'default', 'network-online', 'timers', 'multi-user']

const LOG = '[Service]\nStandardOutput=append:/mnt/test/log\nStandardError=append:/mnt/test/log\n'

/** @throws CommandFailed where this machine has no systemd, or lets this user make no namespaces */
export async function expectSystemd(): Promise<void> {
  const [, version = '0'] = /^systemd (\d+)/.exec(await run('systemd-analyze', ['--version'])) ?? []
  if (Number(version) < 250 || !existsSync(SYSTEMD))
    throw new CommandFailed(`expected systemd 250 or newer, found ${version}`)
  if ((statSync(repository).mode & 0o005) !== 0o005)
    throw new CommandFailed('expected a checkout that other users can read')
  await run('unshare', [...NAMESPACES, 'mount', '-t', 'cgroup2', 'cgroup2', '/mnt'])
}

const SYSTEMD = '/lib/systemd/systemd'

export interface Machine {
  /** A folder that is `/mnt/test` in there. */
  readonly folder: string
  /** Runs a script of bash in `/mnt/test`, as root. @throws CommandFailed that says what it printed */
  run(script: string): Promise<string>
  /** The output of the units. */
  log(): string
}

/** Boots one. It ends with the test file. */
export async function bootSystemd(): Promise<Machine> {
  const folder = newFolder()
  const units = join(folder, 'units')
  mkdirSync(join(units, 'service.d'), { recursive: true })
  for (const name of TARGETS) writeFileSync(join(units, `${name}.target`), '[Unit]\nDefaultDependencies=no\n')
  writeFileSync(join(units, 'service.d/log.conf'), LOG)
  const script = join(import.meta.dirname, 'systemd.sh')
  const booting = startProcess([
    ...['unshare', ...NAMESPACES, 'sh', script],
    ...[repository, process.execPath, folder],
  ])
  const { pid } = booting
  const first = () => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  const inside = (script: string) => {
    const namespaces = ['-t', first(), '-m', '-p', '-u', '-i', '-n', '-C', '-r', '-w']
    const environment = ['env', '-i', `PATH=${PATH}`, `SYSTEMD_UNIT_PATH=${UNIT_PATH}`]
    const bash = ['bash', '--norc', '-c', `cd /mnt/test && set -e -o pipefail\n${script}`]
    return run('nsenter', [...namespaces, ...environment, ...bash])
  }
  const booted = eventually(() => inside('systemctl is-system-running').catch(() => false))
  const ended = booting.ended.then(({ stderr }) => {
    throw new Error(`systemd ended: ${stderr}`)
  })
  await Promise.race([booted, ended])
  ended.catch(() => {})
  return { folder, run: inside, log: () => readFileSync(join(folder, 'log'), 'utf8') }
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin'
/** In the script, too. */
const UNIT_PATH = '/mnt/test/units:/etc/systemd/system'
