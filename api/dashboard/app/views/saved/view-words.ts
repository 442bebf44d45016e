import { words } from '../../words/words.ts'

export const t = words({
  name: ['Name of this view', 'Name dieser Ansicht'],
  share: ['for everybody', 'für alle'],
  save: ['Save this view', 'Ansicht speichern'],
  hint: [
    'Saves the current page with its filter, order, columns and time range. Others see only devices of their own groups.',
    'Speichert die Seite, wie sie jetzt ist: Filter, Ordnung, Spalten und Zeiten. Wer sie öffnet, sieht die Geräte der eigenen Gruppen.',
  ],
  others: ['Shared by others', 'Von anderen'],
  none: ['No saved views yet.', 'Sie haben noch keine Ansicht gespeichert.'],
  some: ['{n} of {total} are shown.', '{n} von {total} sind gezeigt.'],
  shared: ['everybody sees it', 'alle sehen sie'],
  rename: ['Rename {name}', '{name} umbenennen'],
  newName: ['New name', 'Neuer Name'],
  rename2: ['Rename', 'Umbenennen'],
  replace: ['Replace {name} with the current page', '{name} durch die jetzige Seite ersetzen'],
  replaced: ['{name} now shows the current page.', '{name} ist jetzt die jetzige Seite.'],
  toShared: ['Share {name} with everybody', '{name} mit allen teilen'],
  toOwn: ['Keep {name} to yourself', '{name} für sich behalten'],
  copy: ['Copy the link of {name}', 'Link von {name} kopieren'],
  remove: ['Delete {name}', '{name} löschen'],
  removeDo: ['Delete the view', 'Ansicht löschen'],
  removeText: [
    'The view is deleted for everybody, and its link stops working. Devices are not affected.',
    'Die Ansicht ist für alle weg, die sie nutzen, und ihr Link führt ins Leere. Geräte bleiben, wie sie sind.',
  ],
})
