/** The accounts that an operator sees. */
import type { Account } from '../../gen/portcullis/v1/directory.ts'
import type { Api } from './api.ts'
import { apiErrorOf } from './errors.ts'
import type { Fetched } from './paging.ts'
import type { Who } from './wire.ts'

export type { Account }

/**
 * Whether the user may list all accounts. The sidecar decides; the page asks for no list that it is refused.
 */
export function seesAllAccounts(who: Who): boolean {
  return who.type === 'operator' && (who.rights.everything || who.rights.read)
}

type Accounts = Pick<Api['directory'], 'listAccounts' | 'getAccount'>

/** A page of all accounts; or at once those that a caller with `administer` alone knows. */
export async function fetchAccounts(
  directory: Accounts,
  who: Who,
  { pageToken, pageSize, signal }: { pageToken: string; pageSize: number; signal: AbortSignal },
): Promise<Fetched<Account>> {
  if (seesAllAccounts(who)) {
    const { accounts, nextPageToken } = await directory.listAccounts({ pageToken, pageSize }, { signal })
    return { rows: accounts, nextPageToken }
  }
  const own = who.type === 'operator' ? who.rights.administer : []
  const found = await Promise.all(own.map((account) => accountIn(directory, account, signal)))
  return { rows: found.filter((each) => each !== undefined), nextPageToken: '' }
}

/** A right may name an account that is not there, or no longer. */
async function accountIn(directory: Accounts, account: string, signal: AbortSignal) {
  try {
    return (await directory.getAccount({ account }, { signal })).account
  } catch (error) {
    if (apiErrorOf(error).reason === 'NOT_FOUND') return undefined
    throw error
  }
}
