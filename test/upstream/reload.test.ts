/** The profiles and upstreams follow the configuration while the sidecar runs. */
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ACCOUNT, NEXT_PASSWORD, PASSWORD, startCloud } from '../support/identity/cloud.ts'
import { eventually } from '../support/suite/resources.ts'

const { cloud, running, configure, passwordFile, robot, profiles, callers, issue, ofAccount, check } =
  await startCloud()

describe('the configuration', () => {
  test('is followed: a profile that is gone stops at once, and a new one works', async () => {
    const { printed: _printed, ...others } = profiles
    configure({
      profiles: { ...others, fresh: { ...robot, password_file: passwordFile } },
      callers: [{ ...callers[0], profiles: [...Object.keys(others), 'fresh'] }],
    })
    running.sidecar.reload()
    await eventually(() =>
      issue({ profile: 'fresh', scope: { account: ACCOUNT } }).catch(() => false as const),
    )
    await expect(issue({ profile: 'printed', scope: { account: ACCOUNT } })).rejects.toMatchObject({
      reason: 'PROFILE_NOT_ALLOWED',
    })
    configure()
    running.sidecar.reload()
  })

  test('is followed: no token of an earlier password is given', async () => {
    const { value } = await issue(ofAccount)
    const user = cloud.users[0] as (typeof cloud.users)[number]
    user.password = NEXT_PASSWORD
    writeFileSync(passwordFile, NEXT_PASSWORD)
    try {
      running.sidecar.reload()
      await eventually(async () => (await issue(ofAccount)).value !== value)
    } finally {
      user.password = PASSWORD
      writeFileSync(passwordFile, PASSWORD)
      running.sidecar.reload()
    }
  })

  test('that cannot be used leaves the last good one in force', async () => {
    configure({ upstreams: { cloud: { auth_url: 'http://identity.example' } } })
    running.sidecar.reload()
    await eventually(() => running.logLines.some((line) => line.includes('expected https')))
    expect(await check(cloud.issue('robot'))).toMatchObject({ allowed: true })
    configure()
    running.sidecar.reload()
  })
})
