/**
 * The Java client: its own tests, which start a sidecar and run the conformance suite; its formatter, linter
 * and documentation. Maven makes its stubs from the protos when it builds.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { commandsOf } from '../../support/interop/client-commands.ts'
import { installed, repository, run } from '../../support/interop/command.ts'
import { obtained } from '../../support/interop/obtain.ts'

const client = join(repository, 'clients/java')
const pom = readFileSync(join(client, 'pom.xml'), 'utf8')

const maven = (folder: string, ...goals: readonly string[]) =>
  run('mvn', ['-q', '-B', `-Dbuild.folder=${join(folder, 'target')}`, ...goals], { cwd: client })

// The program that makes the stubs is fetched first. Where that is not possible, the tests are skipped.
const fetched = await obtained('the tools of the Java client', async () => {
  const version = await run('java', ['--version'])
  return installed('java-client', [version, pom], async (folder) => {
    await maven(folder, 'generate-sources')
  })
})

describe.runIf(fetched.ok)('the Java client', () => {
  const folder = fetched.ok ? fetched.value : ''

  // It compiles first, with every warning of the compiler and of the documentation as an error.
  test('passes its tests', async () => {
    await maven(folder, ...commandsOf('java').test.slice(1))
    const reports = join(folder, 'target/surefire-reports')
    const suites = readdirSync(reports).filter((file) => /^TEST-.*\.xml$/.test(file))
    expect(suites).toHaveLength(
      readdirSync(join(client, 'src/test/java/com/portcullis/client')).filter((file) =>
        file.endsWith('Test.java'),
      ).length,
    )
  })

  test('is formatted', async () => {
    await maven(folder, 'spotless:check')
  })
})
