/** The Java client (grpc-java) and the Rust client (tonic): fetched by Maven and Cargo, compiled once. */
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { installed, interopFolder, repository, run } from './command.ts'

/** The descriptors of the contract, of which the clients build their messages. */
export const PROTO_FLAGS = ['--protos', join(repository, 'proto')]

/** Fetches and compiles the Java client. @returns the command that runs it */
export async function installJava(): Promise<string[]> {
  const program = join(interopFolder, 'java')
  const [pom, source] = [join(program, 'pom.xml'), join(program, 'src', 'Client.java')]
  // It prints its version on standard error, and a Java that prints no version does not work.
  const version = await run('java', ['--version'])
  const folder = await installed('java', [version, ...[pom, source].map(text)], async (folder) => {
    const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${join(folder, 'jars')}`]
    await run('mvn', ['--quiet', '--batch-mode', '--file', pom, ...goal])
    await run('javac', ['-cp', join(folder, 'jars', '*'), '-d', join(folder, 'classes'), source])
  })
  const path = [join(folder, 'classes'), join(folder, 'jars', '*')].join(delimiter)
  return ['java', '-XX:TieredStopAtLevel=1', '-cp', path, 'Client', ...PROTO_FLAGS]
}

/** Fetches and compiles the Rust client. @returns the command that runs it */
export async function installRust(): Promise<string[]> {
  const program = join(interopFolder, 'rust')
  const sources = ['Cargo.toml', 'Cargo.lock', join('src', 'main.rs')].map((name) => join(program, name))
  const version = await run('cargo', ['--version'])
  const folder = await installed('rust', [version, ...sources.map(text)], async (folder) => {
    await run('cargo', ['build', '--release', '--locked', '--quiet', '--target-dir', folder], {
      cwd: program,
    })
  })
  return [join(folder, 'release', 'portcullis-interop'), ...PROTO_FLAGS]
}

function text(path: string): string {
  return readFileSync(path, 'utf8')
}
