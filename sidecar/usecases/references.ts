/**
 * Finds what a login names: by name, by id, or by both, which must then agree. A wrong name costs as much as
 * a right one.
 */
import { createHash } from 'node:crypto'
import type { Scope } from '../../engine/index.ts'
import type { Administration } from '../authority/administration/administration.ts'
import { canBeName } from '../authority/names.ts'

/**
 * An account, a user or a project by name, by the id that the directory gave it, or by both, which must then
 * agree.
 */
export type Reference =
  | { readonly name: string; readonly id?: undefined }
  | { readonly id: string; readonly name?: string | undefined }

/** Something in an account. Beside an id no account is needed. */
export type ReferenceInAccount =
  | { readonly name: string; readonly id?: undefined; readonly account: Reference }
  | Extract<Reference, { readonly id: string }>

/** The user whom a reference names; where there is none, one who cannot exist. @throws CallError */
export async function userFor(
  administration: Administration,
  user: ReferenceInAccount,
): Promise<{ readonly account: string; readonly userName: string }> {
  if (user.id === undefined) {
    if (!canBeName(user.name)) return { account: nowhere(user.name), userName: UNKNOWN }
    return { account: await accountFor(administration, user.account), userName: user.name }
  }
  const found = canBeName(user.id) ? await administration.records.userById(user.id) : undefined
  if (found === undefined || !agrees(user.name, found.name))
    return { account: nowhere(user.id), userName: UNKNOWN }
  return { account: found.account, userName: found.name }
}

/** The project that a reference names; where there is none, one that cannot exist. @throws CallError */
export async function projectFor(
  administration: Administration,
  project: ReferenceInAccount,
): Promise<Required<Scope>> {
  if (project.id === undefined) {
    if (!canBeName(project.name)) return { account: nowhere(project.name), project: UNKNOWN }
    return { account: await accountFor(administration, project.account), project: project.name }
  }
  const found = canBeName(project.id) ? await administration.records.projectById(project.id) : undefined
  if (found === undefined || !agrees(project.name, found.name))
    return { account: nowhere(project.id), project: UNKNOWN }
  return { account: found.account, project: found.name }
}

/** Whether the name beside an id, if there is one, is that of the record with the id. */
function agrees(name: string | undefined, actual: string): boolean {
  return name === undefined || name === actual
}

/** The number of the account that a reference names. @throws CallError */
export async function accountFor(administration: Administration, { id, name }: Reference): Promise<string> {
  if (id === undefined) return canBeName(name) ? name : nowhere(name)
  const found = canBeName(id) ? await administration.records.accountById(id) : undefined
  return found !== undefined && agrees(name, found.account) ? found.account : nowhere(id)
}

/**
 * Number of a missing account, as no account number has a space: a login in it fails like any other and costs
 * as much. One for each name, because failed logins are counted by user.
 */
function nowhere(name: string): string {
  return `no account ${createHash('sha256').update(name).digest('hex')}`
}

/** Name of a missing user or project. */
const UNKNOWN = 'unknown'
