/** Groups of the operating system, by name. */
import { readFileSync } from 'node:fs'

/**
 * The number of a group. A group that is not in /etc/group may come from a directory service, which `getent`
 * asks.
 *
 * @param name as the schema of the configuration allows it, or a number
 * @returns undefined: there is no such group
 */
export function groupId(name: string): number | undefined {
  if (/^\d+$/.test(name)) return Number(name)
  return idIn(localGroups(), name) ?? idIn(asked(name), name)
}

/** @param lines `NAME:PASSWORD:NUMBER:MEMBERS` */
function idIn(lines: string, name: string): number | undefined {
  for (const line of lines.split('\n')) {
    const [found, , id = ''] = line.split(':')
    if (found === name && /^\d+$/.test(id)) return Number(id)
  }
  return undefined
}

function localGroups(): string {
  try {
    return readFileSync('/etc/group', 'utf8')
  } catch {
    return ''
  }
}

function asked(name: string): string {
  // Not imported, because most sidecars need no process for anything.
  const { execFileSync } = process.getBuiltinModule('node:child_process')
  try {
    return execFileSync('getent', ['group', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return ''
  }
}
