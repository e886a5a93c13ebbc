/** The Python client: grpcio from the package index, stubs generated from the protos. */
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { interopFolder, repository, run } from './command.ts'
import { installedFromPython } from './python-packages.ts'

const programs = join(interopFolder, 'python')

/** Makes a virtual environment with what the client needs. @returns its folder of programs */
export function installPython(): Promise<string> {
  return installedFromPython('python', { files: [join(programs, 'requirements.txt')] })
}

/** Generates the stubs into `folder`, and returns how a program of `test/interop/python` is run with them. */
export async function generatePython(
  environment: string,
  folder: string,
): Promise<{ readonly interpreter: string; readonly env: Readonly<Record<string, string>> }> {
  const interpreter = join(environment, 'python')
  const protos = join(repository, 'proto')
  const files = readdirSync(protos, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.proto'),
  )
  mkdirSync(folder, { recursive: true })
  await run(interpreter, [
    ...['-m', 'grpc_tools.protoc', `--proto_path=${protos}`],
    ...[`--python_out=${folder}`, `--grpc_python_out=${folder}`, ...files],
  ])
  // A refused handshake is what some tests expect; gRPC would report it on standard error.
  const env = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1', GRPC_VERBOSITY: 'NONE' }
  return { interpreter, env }
}

/** Path of a program of `test/interop/python`. */
export function pythonProgram(name: string): string {
  return join(programs, name)
}
