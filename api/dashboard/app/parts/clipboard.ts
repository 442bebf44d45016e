import { words } from '../words/words.ts'
import { toast } from './toasts.tsx'

const t = words({
  link: ['Link copied.', 'Der Link ist in der Zwischenablage.'],
  noLink: [
    'The browser refused access to the clipboard. Copy the address bar instead.',
    'Der Browser erlaubt es nicht. Kopieren Sie die Adresszeile.',
  ],
})

/** Whether the text is in the clipboard. Without a secure context there is none, and a person may refuse it. */
export async function copyText(text: string): Promise<boolean> {
  const isCopied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  return isCopied === true
}

/** Copies a link to an address of the page, and says so. */
export async function copyLink(href: string): Promise<void> {
  const isCopied = await copyText(new URL(href, location.origin).href)
  toast(isCopied ? { text: t('link') } : { text: t('noLink'), isFailure: true })
}
