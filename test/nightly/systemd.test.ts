/**
 * The units of deploy/systemd, and docs/operate/systemd.md read from top to bottom, on a systemd that is
 * process 1 of separate namespaces. So what the units forbid is forbidden: system calls, folders, users,
 * devices.
 */
import { cpSync, globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { comparable, shownAs } from '../docs/outputs.ts'
import { blocksOf, fileOf, pageOf } from '../docs/page.ts'
import { isNotRun, isOutput } from '../docs/story.ts'
import { repository, run } from '../support/interop/command.ts'
import { obtained } from '../support/interop/obtain.ts'
import { bootSystemd, expectSystemd, type Machine } from '../support/interop/systemd.ts'

const UNITS = join(repository, 'deploy/systemd')
const services = globSync('*.service', { cwd: UNITS })

const installed = await obtained('systemd', expectSystemd)

describe.skipIf(!installed.ok)('with systemd', () => {
  test.each(services)('%s is exposed to at most 2.0 of 10', async (name) => {
    const args = ['security', '--offline=true', '--threshold=20', '--no-pager', join(UNITS, name)]
    expect(await run('systemd-analyze', args)).toContain('Overall exposure level')
  })

  describe('docs/operate/systemd.md', () => {
    let machine: Machine
    let output = ''
    beforeAll(async () => {
      machine = await bootSystemd()
      // The page is read in a checkout.
      cpSync(join(repository, 'deploy'), join(machine.folder, 'deploy'), { recursive: true })
    })

    for (const block of blocksOf(pageOf('docs/operate/systemd.md'))) {
      if (isNotRun(block)) continue
      const file = fileOf(block)
      test(`line ${block.line}: ${file ?? block.text.split('\n')[0]}`, async () => {
        if (file !== undefined) writeFileSync(join(machine.folder, file), block.text)
        else if (isOutput(block)) expect(`${comparable(output)}\n`).toMatch(shownAs(block.text))
        else output = await machine.run(block.text).catch((error) => fail(error, machine))
      })
    }

    test('the units have no mistakes', async () => {
      const units = '/etc/systemd/system/portcullis*.service /etc/systemd/system/portcullis*.timer'
      expect(await machine.run(`systemd-analyze verify --man=no ${units} 2>&1`)).toBe('')
    })

    test('a user who is not in the group gets no connection, and one who is reads no data', async () => {
      const ask =
        'portcullis check balance --kind static_token --account 123456 --address unix:/run/portcullis/grpc.sock'
      const as = (group: string) => `setpriv --reuid=64001 --regid=${group} --clear-groups`
      await machine.run(`${as('portcullis-clients')} ${ask}`)
      await expect(machine.run(`${as('64001')} ${ask}`)).rejects.toThrow('(permission denied)')
      await expect(machine.run(`${as('portcullis-clients')} ls /var/lib/portcullis`)).rejects.toThrow(
        'Permission denied',
      )
      for (const folder of ['/var/lib/portcullis-backup', '/run/credentials/portcullis.service'])
        await expect(machine.run(`${as('portcullis-clients')} ls ${folder}`)).rejects.toThrow(
          'Permission denied',
        )
    })

    test('the sidecar cannot do what the unit forbids', async () => {
      const inUnit = async (command: string) => {
        const pid = (await machine.run('systemctl show portcullis --property=MainPID --value')).trim()
        return machine.run(`nsenter -t ${pid} -m sh -c '${command}'`)
      }
      await expect(inUnit('touch /etc/portcullis/x')).rejects.toThrow('Read-only file system')
      expect(await inUnit('ls -A /root/ /home/ /tmp/ | grep -v :')).toBe('\n\n')
      expect(await inUnit('ls /dev')).not.toMatch(/^(mem|kmsg|[sv]da)$/m)
      const status = await machine.run(
        'cat /proc/$(systemctl show portcullis --property=MainPID --value)/status',
      )
      expect(status).toMatch(/^CapBnd:\t0+$/m)
      expect(status).toMatch(/^NoNewPrivs:\t1$/m)
      expect(status).toMatch(/^Seccomp:\t2$/m)
    })

    test('a reload leaves the process, and a killed one is replaced', async () => {
      const pid = 'systemctl show portcullis --property=MainPID --value'
      await machine.run(`old=$(${pid}); systemctl reload portcullis
        portcullis health --ready --health 127.0.0.1:8181; test "$(${pid})" = "$old"
        kill -KILL $old
        until test "$(${pid})" != "$old" && systemctl is-active --quiet portcullis; do sleep 0.1; done
        systemctl start shop`)
    })

    test('no start is reported before the sidecar answers', async () => {
      await machine.run('systemctl restart portcullis && portcullis health --ready --health 127.0.0.1:8181')
      await machine.run(`echo '{ "unknown": 1 }' > /etc/portcullis/config.json`)
      await expect(machine.run('systemctl restart portcullis')).rejects.toThrow('failed')
    })

    test('a stop is clean', async () => {
      await machine.run(
        'install -m 644 config.json /etc/portcullis/config.json && systemctl restart portcullis',
      )
      await machine.run('systemctl stop portcullis portcullis-agent')
      const result =
        'systemctl show portcullis --property=ActiveState --property=Result --property=ExecMainStatus'
      expect((await machine.run(result)).trim().split('\n').sort()).toEqual([
        'ActiveState=inactive',
        'ExecMainStatus=0',
        'Result=success',
      ])
    })
  })
})

function fail(error: unknown, machine: Machine): never {
  throw new Error(`${error}\n${machine.log()}`)
}
