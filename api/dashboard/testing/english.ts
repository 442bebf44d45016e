// English that a page in German has left. Words that both languages have, and what devices and people wrote, are no finding:
// code, what was typed, and texts that are marked as English.
import type { Page } from 'playwright-core'

/** Words that no German text has, and names of states that have a German one. */
const ENGLISH = `
  the and of is are not with for from by to yes has have been this that its ago at on since none all
  your you new never device devices command commands alert alerts group user users rule rules unknown
  desired reported firing recovering resolved pending snoozed acknowledged delivered acked completed
  failed expired cancelled rejected available deprecated yanked succeeded skipped paused running
  scheduled warning critical maintenance provisioning search
`
  .trim()
  .split(/\s+/)

/** Names and reasons that the service gives: they are data, as the names of devices are. */
const DATA = ['MQTT device', 'Microcontroller with micro-ROS', 'ROS 2 robot', 'no heartbeat']

/** Each text of the page with an English word in it. */
export async function englishTexts(page: Page): Promise<readonly string[]> {
  const texts = (await page.evaluate(`(() => {
    const found = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const parent = walker.currentNode.parentElement
      const isOwn = parent === null || parent.closest('code, pre, script, noscript, style, textarea, [lang=en]') !== null
      if (!isOwn) found.push(walker.currentNode.data)
    }
    for (const element of document.querySelectorAll('[aria-label], [title], [placeholder]'))
      if (element.closest('[lang=en]') === null)
        for (const name of ['aria-label', 'title']) found.push(element.getAttribute(name) ?? '')
    return found
  })()`)) as readonly string[]
  const isEnglish = new RegExp(`(?<![\\w.:/„“-])(${ENGLISH.join('|')})(?![\\w.:/„“-])`, 'i')
  return [
    ...new Set(
      texts.map((text) => text.trim()).filter((text) => isEnglish.test(text) && !DATA.includes(text)),
    ),
  ]
}
