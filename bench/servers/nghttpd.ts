/**
 * The constant answer from nghttpd, the HTTP/2 server of nghttp2, which is written in C. It serves the framed
 * answer as a file under the path of the call, also for POST, and sends the gRPC status as a trailer.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CommandFailed, run } from '../harness/command.ts'
import { type Contender, contend } from '../harness/contender.ts'
import { accepts, ForeignServer, freeAddress, requireProc } from '../harness/foreign.ts'
import { CHECK_PATH, framed } from '../harness/grpc.ts'
import { temporaryFolder } from '../harness/temporary.ts'

/** @returns the command @throws CommandFailed if it is missing, or cannot be measured on this system */
export async function requireNghttpd(): Promise<string> {
  requireProc()
  const command = 'nghttpd'
  await run(command, ['--version']).catch((error: unknown) => {
    throw new CommandFailed(`\`${command}\` is not on PATH (Debian: nghttp2-server)`, { cause: error })
  })
  return command
}

/** Starts it with one thread, because Node runs JavaScript on one. */
export async function contendNghttpd(
  command: string,
  answerBytes: number,
  stack: AsyncDisposableStack,
): Promise<Contender> {
  const folder = temporaryFolder(stack)
  const file = join(folder, CHECK_PATH)
  mkdirSync(dirname(file))
  writeFileSync(file, framed(Buffer.alloc(answerBytes, 'x')))
  const address = await freeAddress()
  const server = await ForeignServer.start({
    command,
    args: [
      ...['--no-tls', '--address', '127.0.0.1', '--htdocs', folder, '--workers', '1'],
      ...['--trailer', 'grpc-status: 0', new URL(`http://${address}`).port],
    ],
    ready: () => accepts(address),
  })
  return contend(server, address, stack)
}
