/** Administration of projects. */
import type { Page, ProjectRecord } from '../../directory/directory.ts'
import type { DirectoryStore } from '../../directory/store.ts'
import type { Actor } from '../actor.ts'
import { checkName } from '../names.ts'
import { changeDirectory } from './change.ts'
import { accountIn, listIn, projectIn } from './found.ts'

/** Every method throws `CallError` where there is no answer. */
export class ProjectAdministration {
  readonly #store: DirectoryStore

  constructor(store: DirectoryStore) {
    this.#store = store
  }

  async create(actor: Actor, account: string, name: string): Promise<ProjectRecord> {
    checkName('name', name)
    return changeDirectory(
      this.#store,
      actor,
      async (change) => {
        await change.createProject(await accountIn(change.records, account), name)
        return projectIn(change.records, account, name)
      },
      `project \`${name}\``,
    )
  }

  get(account: string, name: string): Promise<ProjectRecord> {
    return projectIn(this.#store.records, account, name)
  }

  byId(id: string): Promise<ProjectRecord | undefined> {
    return this.#store.records.projectById(id)
  }

  list(account: string, page: Page): Promise<readonly ProjectRecord[]> {
    const { records } = this.#store
    return listIn(records, account, records.projects(account, page))
  }

  setEnabled(actor: Actor, account: string, name: string, enabled: boolean): Promise<ProjectRecord> {
    return changeDirectory(this.#store, actor, async (change) => {
      const record = await projectIn(change.records, account, name)
      if (record.enabled !== enabled) await change.setProjectEnabled(record, enabled)
      else change.writer.repeat('project.enable', record)
      return { ...record, enabled }
    })
  }

  delete(actor: Actor, account: string, name: string): Promise<void> {
    return changeDirectory(this.#store, actor, async (change) =>
      change.deleteProject(await projectIn(change.records, account, name)),
    )
  }
}
