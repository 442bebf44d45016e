// The frame of all views: rail, header, connection, and the login over the page when a session ended in mid-use.
import type { ComponentChildren } from 'preact'
import { pathOf } from '../address/routes.ts'
import { isSessionOver, user } from '../data/session.ts'
import { connection, isPaused } from '../live/live.ts'
import { address, goBack, navigate } from '../navigation/navigation.ts'
import { Button } from '../parts/button.tsx'
import { FreshnessDot } from '../parts/freshness.tsx'
import { Icon } from '../parts/icon.tsx'
import { useShortcuts } from '../parts/shortcuts.ts'
import { Toasts } from '../parts/toasts.tsx'
import { LoginDialog } from '../views/login/login-dialog.tsx'
import { number, words } from '../words/words.ts'
import { areas } from './areas.ts'
import { Bars } from './bars.tsx'
import { isPaletteOpen, Palette } from './palette.tsx'
import { isSheetOpen, ShortcutSheet } from './shortcut-sheet.tsx'
import { SpokenChanges } from './spoken-changes.tsx'
import { ViewsButton } from './views-button.tsx'

const t = words({
  skip: ['Skip to content', 'Zum Inhalt'],
  main: ['Main', 'Hauptmenü'],
  me: ['{name}, profile and settings', '{name}, Profil und Einstellungen'],
  goTo: ['Go to {name}', 'Zu {name}'],
  keys: ['Keyboard shortcuts', 'Tasten zeigen'],
  palette: ['Search', 'Suchen'],
  pause: ['Pause or continue live updates', 'Live-Daten anhalten oder fortsetzen'],
  back: ['Go back', 'Zurück'],
  scope: ['in {groups}', 'in {groups}'],
})

const openPalette = () => {
  isPaletteOpen.value = true
}

/** Tabs of a device on which somebody collects changes that are not in a form. */
const EDITORS = /\/(shadow|settings)$/

/** Nobody loses what they wrote to a key that was pressed once too often. */
const mayHoldText = () =>
  EDITORS.test(address.peek().path) || document.querySelector('#content :is(form, textarea)') !== null

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const entries = areas()
  const { path } = address.value
  const me = user.value
  useShortcuts([
    ...entries.map(({ key, name, route }) => ({
      keys: `g ${key}`,
      label: t('goTo', { name }),
      run: () => navigate(pathOf(route)),
    })),
    { keys: 'Ctrl+k', label: t('palette'), run: openPalette },
    {
      keys: '?',
      label: t('keys'),
      run: () => {
        isSheetOpen.value = true
      },
    },
    { keys: 'Escape', label: t('back'), run: () => !mayHoldText() && goBack(), isFallback: true },
    {
      keys: '.',
      label: t('pause'),
      run: () => {
        isPaused.value = !isPaused.peek()
      },
    },
  ])
  const isCurrent = (prefix: string) =>
    prefix === '/' ? path === '/' : path === prefix || path.startsWith(`${prefix}/`)
  return (
    <div class={['away', 'silent'].includes(connection.value.state) ? 'shell shell-away' : 'shell'}>
      <a class="skip" href="#content">
        {t('skip')}
      </a>
      <nav class="rail" aria-label={t('main')}>
        <a class="brand" href="/">
          Fleet
        </a>
        <ul>
          {entries.map(({ route, name, icon, prefix, isFirst, count }) => (
            <li key={route} class={isFirst ? undefined : 'rail-later'}>
              <a
                href={pathOf(route)}
                aria-current={isCurrent(prefix) ? 'page' : undefined}
                title={count?.label ?? name}
              >
                <Icon name={icon} />
                <span class="rail-name">{name}</span>
                {count !== undefined && (
                  <span class="rail-count" aria-hidden="true">
                    {number(count.n, { notation: 'compact' })}
                  </span>
                )}
              </a>
            </li>
          ))}
        </ul>
        <details class="rail-more">
          <summary>
            <Icon name="menu" />
            <span class="rail-name">{t('more')}</span>
          </summary>
          <ul>
            {entries
              .filter(({ isFirst }) => !isFirst)
              .map(({ route, name, icon }) => (
                <li key={route}>
                  <a href={pathOf(route)}>
                    <Icon name={icon} /> {name}
                  </a>
                </li>
              ))}
          </ul>
        </details>
      </nav>
      <header class="top">
        <FreshnessDot />
        {me != null && me.groups.length > 0 && (
          <span class="muted">{t('scope', { groups: me.groups.join(', ') })}</span>
        )}
        <ViewsButton />
        <Button icon="search" label={`${t('palette')} Ctrl K`} shortcut="Control+K" onClick={openPalette}>
          <span class="top-search">{t('palette')}</span> <kbd class="top-search">Ctrl K</kbd>
        </Button>
        <a class="me" href={pathOf('me')} aria-label={t('me', { name: me?.name ?? '' })}>
          <Icon name="user" /> <span>{me?.name}</span>
        </a>
      </header>
      <Bars />
      <main id="content" class="content" tabIndex={-1}>
        {children}
      </main>
      <Toasts />
      <SpokenChanges />
      {isPaletteOpen.value && <Palette />}
      {isSheetOpen.value && <ShortcutSheet />}
      {isSessionOver.value && <LoginDialog />}
    </div>
  )
}
