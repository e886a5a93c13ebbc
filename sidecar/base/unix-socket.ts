/** The path of a Unix socket: who may reach it, and what an earlier process left there. */
import { chmodSync, lstatSync, mkdirSync, unlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { addressInUse, type TakenAddress } from './address.ts'

/** Makes the folder, and removes the socket of a server that was killed. @throws Error if the path is in use */
export async function prepareSocketPath(
  path: string,
  listener: TakenAddress['listener'] = 'grpc',
): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket())
    throw new Error(
      `${listener} address unix:${path}: expected a socket or an unused path, found another kind of file`,
    )
  if (await answers(path)) throw addressInUse({ listener, address: `unix:${path}` })
  unlinkSync(path)
}

/** Only the owner and the group may connect. By default every user of this machine may. */
export function restrictSocket(path: string): void {
  chmodSync(path, 0o660)
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
