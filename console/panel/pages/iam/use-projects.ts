/** All projects of an account, for choosing some of them. */
import { useCallback } from 'preact/hooks'
import { useApi } from '../../context.tsx'
import { type Loaded, useLoaded } from '../../parts/use-loaded.ts'

const PAGE_SIZE_MAX = 1_000

/** @returns names, as they come: page by page to the last one */
export function useProjectNames(account: string): Loaded<readonly string[]> {
  const api = useApi()
  const load = useCallback(
    async (signal: AbortSignal) => {
      const names: string[] = []
      let pageToken = ''
      do {
        const page = await api.directory.listProjects(
          { account, pageSize: PAGE_SIZE_MAX, pageToken },
          { signal },
        )
        for (const { name } of page.projects) names.push(name)
        pageToken = page.nextPageToken
      } while (pageToken !== '')
      return names
    },
    [api, account],
  )
  return useLoaded<readonly string[]>(load)
}
