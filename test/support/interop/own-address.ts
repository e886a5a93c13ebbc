/**
 * An address of this machine that is not loopback, as another machine would reach it; `undefined`: it has
 * none.
 */
import { networkInterfaces } from 'node:os'

export const ownAddress: string | undefined = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
