/**
 * The pages that a user finds in the menu and beside the page. The sidecar decides for each call what they
 * may do there.
 */
import type { PanelPage, Route } from '../../model/routes.ts'
import type { CallerRights, Who } from './wire.ts'

type Group = 'account' | 'profile' | 'access' | 'iam' | 'operator'

interface PageRow {
  readonly page: PanelPage
  readonly group: Group
  readonly seenBy: (who: Who, account: string | undefined) => boolean
}

const anybody = (): boolean => true
const user = (who: Who): boolean => who.type === 'user'

/** The owner, `iam.admin` (§5.1), and an operator who has chosen an account. */
const administrator = (who: Who, account: string | undefined): boolean =>
  who.type === 'user' ? who.administrator : account !== undefined && mayAdminister(who.rights, account)

const looker = (who: Who): boolean => who.type === 'operator' && (who.rights.everything || who.rights.read)

const operator = (who: Who): boolean => who.type === 'operator'

const PAGES: readonly PageRow[] = [
  { page: 'overview', group: 'account', seenBy: anybody },
  { page: 'profile/access/keys', group: 'access', seenBy: user },
  { page: 'profile/access/tokens', group: 'access', seenBy: user },
  { page: 'profile/security', group: 'profile', seenBy: user },
  { page: 'profile/sessions', group: 'profile', seenBy: user },
  { page: 'operator/accounts', group: 'operator', seenBy: operator },
  { page: 'operator/callers', group: 'operator', seenBy: looker },
  { page: 'operator/keys', group: 'operator', seenBy: looker },
  { page: 'operator/decisions', group: 'operator', seenBy: looker },
  { page: 'operator/matrix', group: 'operator', seenBy: looker },
  { page: 'iam/service-users', group: 'iam', seenBy: administrator },
  { page: 'iam/users', group: 'iam', seenBy: administrator },
  { page: 'projects', group: 'account', seenBy: administrator },
  { page: 'access-limits', group: 'account', seenBy: administrator },
  { page: 'audit', group: 'account', seenBy: administrator },
]

const GROUPS: readonly Group[] = ['account', 'access', 'profile', 'iam', 'operator']

/** Pages that need no session. */
export const OPEN_PAGES: readonly PanelPage[] = ['login', 'invitation', 'link']

export interface MenuGroup {
  readonly group: Group
  readonly pages: readonly PanelPage[]
}

/** The pages of the menu, in groups. @param there pages that exist */
export function menuOf(
  who: Who,
  account: string | undefined,
  there: readonly PanelPage[],
): readonly MenuGroup[] {
  const seen = PAGES.filter(({ page, seenBy }) => there.includes(page) && seenBy(who, account))
  return GROUPS.map((group) => ({
    group,
    pages: seen.filter((row) => row.group === group).map(({ page }) => page),
  })).filter(({ pages }) => pages.length > 0)
}

/** The account that a page is about: the user's own, or the one that an operator chose. */
export function accountOf(who: Who, { given }: Route): string | undefined {
  return who.type === 'user' ? who.account : given.account
}

function mayAdminister({ everything, read, administer }: CallerRights, account: string): boolean {
  return everything || read || administer.includes(account)
}
