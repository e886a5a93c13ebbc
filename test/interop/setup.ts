/**
 * Runs before the first test: obtains other software, and generates its clients from the protos. Tests of
 * software that cannot be obtained are skipped, and a printed line says why. Obtained software that does not
 * work with our protos is a failure.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { run } from '../support/interop/command.ts'
import { generateGo, installGo, installGrpcurl } from '../support/interop/go.ts'
import { available, type Outcome } from '../support/interop/obtain.ts'
import { generatePython, installPython, pythonProgram } from '../support/interop/python.ts'
import { installFish, installZsh, type Shell } from '../support/interop/shells.ts'

/** A program that can be started, or the reason why it is missing. */
export type Available =
  | { readonly ok: true; readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly why: string }

/** A shell that can be started, or the reason why it is missing. */
export type AvailableShell = ({ readonly ok: true } & Shell) | { readonly ok: false; readonly why: string }

declare module 'vitest' {
  interface ProvidedContext {
    readonly python: Available
    readonly pythonReflection: Available
    readonly go: Available
    readonly grpcurl: Available
    readonly openssl: Available
    /** Runs a program on a pseudo-terminal. */
    readonly terminal: Available
    readonly zsh: AvailableShell
    readonly fish: AvailableShell
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-interop-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const [python, go, grpcurl, openssl, terminal, zsh, fish] = await Promise.all([
      available('Python', installPython, (path) => generatePython(path, join(folder, 'python'))),
      available('Go', installGo, (path) => generateGo(path, join(folder, 'go'))),
      available('grpcurl', installGrpcurl, async (path) => path),
      available(
        'openssl',
        () => run('openssl', ['version']),
        async () => 'openssl',
      ),
      available(
        'a pseudo-terminal',
        () => run('python3', ['-c', 'import pty']),
        async () => 'python3',
      ),
      available('zsh', installZsh, async (shell) => shell),
      available('fish', installFish, async (shell) => shell),
    ])
    const inPython = (name: string) =>
      programOf(python, ({ interpreter, env }) => ({ command: [interpreter, pythonProgram(name)], env }))
    project.provide('python', inPython('client.py'))
    project.provide('pythonReflection', inPython('reflection.py'))
    project.provide(
      'go',
      programOf(go, (path) => ({ command: [path], env: {} })),
    )
    project.provide(
      'grpcurl',
      programOf(grpcurl, (path) => ({ command: [path], env: {} })),
    )
    project.provide(
      'openssl',
      programOf(openssl, (path) => ({ command: [path], env: {} })),
    )
    project.provide(
      'terminal',
      programOf(terminal, (path) => ({ command: [path], env: {} })),
    )
    project.provide('zsh', zsh.ok ? { ok: true, ...zsh.value } : zsh)
    project.provide('fish', fish.ok ? { ok: true, ...fish.value } : fish)
  } catch (error) {
    remove()
    throw error
  }
  return remove
}

function programOf<T>(
  outcome: Outcome<T>,
  program: (value: T) => Omit<Extract<Available, { ok: true }>, 'ok'>,
): Available {
  return outcome.ok ? { ok: true, ...program(outcome.value) } : outcome
}
