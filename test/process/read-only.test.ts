/**
 * A data folder that cannot be written: nothing in it must change where the directory is in PostgreSQL. And
 * a folder for temporary files that cannot, where a demo begins.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LAUNCHER, startProcess } from '../support/processes/processes.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { CAN_MOUNT, withReadOnly } from '../support/suite/read-only.ts'
import { newFolder } from '../support/suite/resources.ts'

describe.skipIf(!CAN_MOUNT)('a read-only data folder', () => {
  const serveOn = async (folder: string, environment = {}) => {
    const line = [
      process.execPath,
      LAUNCHER,
      'serve',
      '--grpc',
      '127.0.0.1:0',
      '--http',
      'off',
      '--data',
      folder,
    ]
    return startProcess(withReadOnly(folder, line), { environment, cwd: newFolder() }).ended
  }
  // Nothing listens there. The directory is opened after everything else in the data folder.
  const elsewhere = { PORTCULLIS_DIRECTORY_URL: 'postgres://user:password@127.0.0.1:1/directory' }
  const usedFolder = async () => {
    const { sidecar, folder } = await runSidecar()
    await sidecar.close()
    return folder
  }

  test('is opened where the directory is elsewhere, and the log says what cannot be kept', async () => {
    const { code, stderr } = await serveOn(await usedFolder(), elsewhere)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/directory\.known_folder.*\nportcullis: directory\.url: .*ECONNREFUSED/),
    })
  })

  test.each(['static-token-pepper', 'signing-keys.json'])('that lacks %s is refused', async (name) => {
    const folder = await usedFolder()
    rmSync(join(folder, name))
    // Without the keys it is not a data folder.
    if (name === 'signing-keys.json')
      for (const each of ['static-token-pepper', 'directory.sqlite', 'administrator-token'])
        rmSync(join(folder, each))
    const { code, stderr } = await serveOn(folder, elsewhere)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(
        `${join(folder, name)} is missing, and cannot be created in this folder (EROFS)`,
      ),
    })
  })

  test('with the directory in it is refused by the name of the file', async () => {
    const folder = await usedFolder()
    const { code, stderr } = await serveOn(folder)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(`${join(folder, 'directory.sqlite')}: cannot be used as a directory`),
    })
  })
})

test.each<[claim: string, folder: () => string, code: string, wrap: typeof withReadOnly]>([
  ['that is not there', () => join(newFolder(), 'nothing'), 'ENOENT', (_folder, line) => [...line]],
  ...(CAN_MOUNT
    ? [
        ['that is read-only', newFolder, 'EROFS', withReadOnly] as [
          string,
          typeof newFolder,
          string,
          typeof withReadOnly,
        ],
      ]
    : []),
])('a demo names a folder for temporary files %s, and what to do', async (_claim, folderOf, code, wrap) => {
  const folder = folderOf()
  const line = [process.execPath, LAUNCHER, 'serve', '--dev', '--grpc', '127.0.0.1:0', '--http', 'off']
  const asked = { environment: { TMPDIR: folder }, cwd: newFolder() }
  expect(await startProcess(wrap(folder, line), asked).ended).toMatchObject({
    ...{ code: 2, stdout: '' },
    stderr: `portcullis: --dev: the folder of the demo cannot be created in ${folder} (${code}); expected TMPDIR to name a folder that can be written, or --data with an empty one\n`,
  })
})
