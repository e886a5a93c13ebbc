/** The path of a Unix socket: who may reach it, and what an earlier process left there. */
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, statSync, unlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { addressInUse, type TakenAddress } from '../address.ts'

/** The rights to connect to a socket. */
export interface SocketAccess {
  /** Of the socket: 0600, 0660 or 0666. */
  readonly mode: number
  /** The group that has the socket; `undefined`: that of the process. */
  readonly group: { readonly name: string; readonly id: number } | undefined
}

/** Only the owner and the group of the process. By default every user of this machine may connect. */
const OWN: SocketAccess = { mode: 0o660, group: undefined }

/**
 * Makes the folder, and removes the socket of a server that was killed.
 *
 * @throws Error if the path is in use, or if those who may connect may not enter the folder
 */
export async function prepareSocketPath(
  path: string,
  listener: TakenAddress['listener'] = 'grpc',
  access: SocketAccess = OWN,
): Promise<void> {
  if (isShared(access)) makeSharedFolder(path, access)
  else mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket())
    throw new Error(
      `${listener} address unix:${path}: expected a socket or an unused path, found another kind of file`,
    )
  if (await answers(path)) throw addressInUse({ listener, address: `unix:${path}` })
  unlinkSync(path)
}

/** @throws Error if the socket cannot be given to the group */
export function restrictSocket(path: string, access: SocketAccess = OWN): void {
  giveToGroup(path, access)
  chmodSync(path, access.mode)
}

/** Whether users may connect who must be able to enter the folder. */
function isShared({ mode, group }: SocketAccess): boolean {
  return group !== undefined || (mode & 0o006) !== 0
}

/** A folder that is there is left as it is: it may be that of another program. */
function makeSharedFolder(path: string, access: SocketAccess): void {
  const folder = dirname(path)
  const everyone = (access.mode & 0o006) !== 0
  if (!existsSync(folder)) {
    // Without those above it: no process could enter them either.
    mkdirSync(folder, { mode: 0o700 })
    giveToGroup(folder, access)
    chmodSync(folder, everyone ? 0o755 : 0o750)
    return
  }
  const { mode, gid } = statSync(folder)
  if (mode & 0o001 || (!everyone && gid === access.group?.id && mode & 0o010)) return
  const whom = everyone ? 'every user' : `the group ${access.group?.name}`
  throw new Error(
    `grpc address unix:${path}: expected a separate folder that ${whom} may enter, or none yet; found mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`,
  )
}

function giveToGroup(path: string, { group }: SocketAccess): void {
  if (group === undefined) return
  try {
    chownSync(path, -1, group.id)
  } catch (error) {
    throw new Error(
      `grpc.socket.group: ${path} cannot be given to the group ${group.name} (${(error as NodeJS.ErrnoException).code}); expected this user to be a member of it`,
      { cause: error },
    )
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })
}
