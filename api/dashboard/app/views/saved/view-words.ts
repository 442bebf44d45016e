import { words } from '../../words/words.ts'

export const t = words({
  title: ['Saved views', 'Gespeicherte Ansichten'],
  name: ['Name of this view', 'Name dieser Ansicht'],
  share: ['for everybody', 'für alle'],
  save: ['Save this view', 'Ansicht speichern'],
  hint: [
    'Saves the page as it is now: its filter, order, columns and times. Who opens it sees the devices of their own groups.',
    'Speichert die Seite, wie sie jetzt ist: Filter, Ordnung, Spalten und Zeiten. Wer sie öffnet, sieht die Geräte der eigenen Gruppen.',
  ],
  own: ['Yours', 'Ihre'],
  others: ['Of others', 'Von anderen'],
  none: ['You have saved no view yet.', 'Sie haben noch keine Ansicht gespeichert.'],
  some: ['{n} of {total} are shown.', '{n} von {total} sind gezeigt.'],
  shared: ['everybody sees it', 'alle sehen sie'],
  rename: ['Rename {name}', '{name} umbenennen'],
  newName: ['New name', 'Neuer Name'],
  rename2: ['Rename', 'Umbenennen'],
  cancel: ['Cancel', 'Abbrechen'],
  replace: ['Replace {name} by the present page', '{name} durch die jetzige Seite ersetzen'],
  replaced: ['{name} now is the present page.', '{name} ist jetzt die jetzige Seite.'],
  toShared: ['Share {name} with everybody', '{name} mit allen teilen'],
  toOwn: ['Keep {name} to yourself', '{name} für sich behalten'],
  copy: ['Copy the link of {name}', 'Link von {name} kopieren'],
  remove: ['Delete {name}', '{name} löschen'],
  removeDo: ['Delete the view', 'Ansicht löschen'],
  removeSays: [
    'The view goes for everybody who uses it, and its link leads nowhere. Devices stay as they are.',
    'Die Ansicht ist für alle weg, die sie nutzen, und ihr Link führt ins Leere. Geräte bleiben, wie sie sind.',
  ],
})
