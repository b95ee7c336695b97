const en = {
  title: 'Tags',
  caption: 'Tags of the shop',
  name: 'Name',
  add: 'Add the tag',
  remove: 'Delete',
  noneTitle: 'No tags yet',
  none: 'Add the first tag with the form above.',
  navigation: { label: 'Tags', purpose: 'Short names for your deals.' },
  notices: { 'tag-created': 'The tag was added.', 'tag-deleted': 'The tag was deleted.' },
}

const es: typeof en = {
  title: 'Etiquetas',
  caption: 'Etiquetas de la tienda',
  name: 'Nombre',
  add: 'Añadir la etiqueta',
  remove: 'Eliminar',
  noneTitle: 'Todavía no hay etiquetas',
  none: 'Añada la primera etiqueta con el formulario de arriba.',
  navigation: { label: 'Etiquetas', purpose: 'Nombres cortos para sus pedidos.' },
  notices: { 'tag-created': 'Se añadió la etiqueta.', 'tag-deleted': 'Se eliminó la etiqueta.' },
}

export const tags = { en, es }
