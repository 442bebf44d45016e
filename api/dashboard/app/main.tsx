// The start of the page: who is there, then the frame with the view of the address.
import { effect } from '@preact/signals'
import { render } from 'preact'
import { placeOf } from './address/routes.ts'
import { followPreferences, preferences } from './data/preferences.ts'
import { renew, user } from './data/session.ts'
import { goLive } from './live/live.ts'
import { followAddress, place } from './navigation/navigation.ts'
import { areSingleKeysOn, followKeys } from './parts/shortcuts.ts'
import { Shell } from './shell/shell.tsx'
import { ViewAt } from './shell/view-at.tsx'
import './style/style.css'
import Login from './views/login/login.tsx'
import { countSeconds } from './words/time.ts'

function App() {
  const me = user.value
  const route = place.value?.route
  // No part asks the service, so it needs no session.
  if (import.meta.env.DEV && route === 'parts') return <ViewAt />
  if (me === undefined) return null
  if (me === null || route === 'login' || route === 'setup') return <Login />
  return (
    <Shell>
      <ViewAt />
    </Shell>
  )
}

const root = document.querySelector('#app')
if (root === null) throw new Error('the page has a place for the app')
followPreferences()
followAddress()
followKeys()
countSeconds()
effect(() => {
  areSingleKeysOn.value = preferences.value.singleKeys
})
effect(() => {
  if (user.value != null) goLive()
})
// A fresh address with a login ticket does not need the cookie of an earlier session.
const isEntrance = placeOf(location.pathname)?.route === 'login' && location.hash.includes('ticket=')
if (isEntrance) user.value = null
else
  renew().catch(() => {
    // The service does not answer; the login says so when it is tried.
    user.value = null
  })
render(<App />, root)
