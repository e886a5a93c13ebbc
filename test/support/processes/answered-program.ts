/** The program for shells that run it often: each start of the real one takes a fifth of a second. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { newFolder, whenTheFileEnds } from '../suite/resources.ts'
import { command } from './command-line.ts'

/**
 * A folder with a `portcullis` whose commands this process carries out, in its own working folder. Standard
 * output and the exit code are those of the command.
 */
export async function answeredProgram(): Promise<string> {
  const folder = newFolder()
  const server = createServer(async (socket) => {
    const lines = createInterface(socket)[Symbol.asyncIterator]()
    const next = async () => String((await lines.next()).value)
    const words = await Array.fromAsync({ length: Number(await next()) }, next)
    const { code, stdout } = await command(words)
    socket.end(`${code}\n${stdout}`)
  }).listen(0, '127.0.0.1')
  whenTheFileEnds(() => server.close())
  await once(server, 'listening')
  const program = `#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/${(server.address() as AddressInfo).port}
printf '%s\\n' $# "$@" >&3
read -r code <&3
cat <&3
exit "$code"
`
  writeFileSync(join(folder, 'portcullis'), program, { mode: 0o755 })
  return folder
}
