/** The rights to connect to the Unix socket of gRPC. */
import { parseAddress } from '../base/address.ts'
import { groupId } from '../base/group.ts'
import type { SocketAccess } from '../base/net/unix-socket.ts'
import { type Config, ConfigError } from './config.ts'

/** @throws ConfigError where there is no such group, or no Unix socket */
export function socketAccessOf({ grpc: { address, socket } }: Pick<Config, 'grpc'>): SocketAccess {
  const mode = Number.parseInt(socket.mode, 8)
  const { group: name } = socket
  if (name === undefined) return { mode, group: undefined }
  if (parseAddress('grpc.address', address).type !== 'unix')
    throw new ConfigError('grpc.socket.group: expected unix:PATH in grpc.address')
  const id = groupId(name)
  if (id === undefined) throw new ConfigError(`grpc.socket.group: there is no group ${name} on this machine`)
  return { mode, group: { name, id } }
}
