/** The Python client of the README, unchanged, with a real sidecar. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { blocksOf, readme } from '../docs/readme.ts'
import { run } from '../support/interop/command.ts'
import { type Sidecar, startSidecar } from '../support/interop/sidecar.ts'

const python = inject('python')

describe.skipIf(!python.ok)('the Python client of the README', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-readme-'))
  const program = join(folder, 'check.py')
  let sidecar: Sidecar
  beforeAll(async () => {
    sidecar = await startSidecar()
    const [block = ''] = blocksOf(readme(), 'python')
    // The README uses the default port. A test uses a free one.
    writeFileSync(program, block.replace('127.0.0.1:50051', sidecar.address))
  })
  afterAll(async () => {
    await sidecar?.stop()
    rmSync(folder, { recursive: true })
  })

  test('prints the output that the README shows', async () => {
    expect(blocksOf(readme(), 'text')).toContain(await ask(sidecar.demo.static_token))
  })

  test('says why a wrong token is denied', async () => {
    expect(await ask('pcst_wrong')).toBe(
      'denied - no authority vouches for the credential; obtain a new one\n',
    )
  })

  function ask(token: string): Promise<string> {
    if (!python.ok) throw new Error('Python is missing')
    const [interpreter = ''] = python.command
    return run(interpreter, [program, token], { env: python.env })
  }
})
