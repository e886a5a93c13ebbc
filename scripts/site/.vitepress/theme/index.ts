/** The theme of VitePress, with colors that have the contrast of WCAG AA. */
import theme from 'vitepress/theme'
import './colors.css'

export default theme
