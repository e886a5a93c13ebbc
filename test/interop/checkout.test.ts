/** A fresh checkout on a machine whose Node is too old, and where npm runs no install scripts. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { environment } from '../support/checkout/packages.ts'
import { repository, run } from '../support/interop/command.ts'
import { findOlderNode, unlessMissing } from '../support/interop/runtimes.ts'
import { startProcess } from '../support/processes/processes.ts'
import { newFolder } from '../support/suite/resources.ts'

const folder = newFolder()

const olderNode = await findOlderNode()
/**
 * The environment of that machine: without this checkout's Node, and without the variables that npm sets for
 * the tests.
 */
const env = {
  ...environment,
  PATH: [dirname(olderNode ?? ''), process.env.PATH].join(delimiter),
  PORTCULLIS_GRPC_ADDRESS: '127.0.0.1:0',
  PORTCULLIS_HTTP_ADDRESS: 'off',
}
const packages =
  olderNode === undefined
    ? undefined
    : await unlessMissing('the packages of the checkout', async () => {
        const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
        for (const path of listed.split('\0'))
          if (path !== '' && existsSync(join(repository, path)))
            cpSync(join(repository, path), join(folder, path), { recursive: true, verbatimSymlinks: true })
        const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
        await run('npm', ['ci', ...options], { cwd: folder, env })
        return true
      })

test.skipIf(!packages)('npm start says how to install the right Node, and then it starts', async () => {
  const refused = spawnSync('npm', ['start'], { cwd: folder, env, encoding: 'utf8' })
  expect(refused.status).toBe(2)
  expect(refused.stderr).toMatch(/^portcullis: expected Node 24\.7 or later, this is v2\d\./m)
  const [, advice] = /`(npm rebuild node[^`]*)` installs it/.exec(refused.stderr) ?? []
  expect(advice).toBeDefined()

  const [npm = '', ...args] = advice?.split(' ') ?? []
  await run(npm, args, { cwd: folder, env })
  const started = startProcess(['npm', 'start'], { cwd: folder, environment: env })
  const printed = await started.until(() => started.stdout().includes('Try it') && started.stdout())
  await started.stop()
  expect(printed).toMatch(/gRPC +127\.0\.0\.1:\d+/)
})
