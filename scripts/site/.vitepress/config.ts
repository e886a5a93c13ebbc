/** How VitePress builds the site. `scripts/site.ts` has written the pages, and the navigation beside them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { slug } from 'github-slugger'
import { defineConfig } from 'vitepress'
import type { Section } from '../pages.ts'

const { sections, more } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../.pages/navigation.json'), 'utf8'),
) as { sections: Section[]; more: Section[] }

const entry = ({ text, items }: Section) => ({ text, link: items[0]?.link ?? '/' })
// A page that VitePress does not make opens by itself.
const playground = { text: 'Playground', link: '/explorer.html', target: '_self' }

export default defineConfig({
  title: 'Portcullis',
  description: 'Decides which token may call which API, and obtains the right one.',
  lang: 'en',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: '.pages',
  base: process.env.SITE_BASE ?? '/',
  ignoreDeadLinks: [/^\/explorer(\.html)?$/, /^https?:\/\/(localhost|127\.)/],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // The anchors that the pages have in the checkout.
    anchor: { slugify: slug },
    toc: { slugify: slug },
  },
  // The index of the search is one file, which is loaded with the first search.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    nav: [...sections.map(entry), playground],
    sidebar: [{ text: 'Start', link: '/start' }, ...sections, ...more],
    outline: [2, 3],
    search: { provider: 'local' },
    docFooter: { prev: false, next: false },
  },
})
