# SPDX-License-Identifier: Apache-2.0
# The events on the tracks of a Perfetto trace, out of what protoc shows of it, one a line, with tabs between:
#
#   track name-of-track begin end category name     end is begin where the event is an instant
#
# The name of a thread's track is PID/TID, that of a process's PID. It is empty where the track was not described before.

function text(line) {
	sub(/^[^"]*"/, "", line)
	sub(/"$/, "", line)
	return line
}

function show(line, end,   part) {
	split(line, part, "\t")
	print part[1] "\t" part[2] "\t" part[3] "\t" end "\t" part[4] "\t" part[5]
}

/^packet \{/ { at = uuid = pid = tid = type = track = category = name = list = "" }
/^  timestamp:/ { at = $2 }
/^    (event_categories|event_names|debug_annotation_names) \{/ { list = $1 }
/^      iid:/ { iid = $2 }
/^      name:/ && list { interned[list, iid] = text($0) }
/^    uuid:/ { uuid = $2 }
/^      pid:/ { pid = $2 }
/^      tid:/ { tid = $2 }
/^    type:/ { type = $2 }
/^    track_uuid:/ { track = $2 }
/^    category_iids:/ { category = interned["event_categories", $2] }
/^    categories:/ { category = text($0) }
/^    name_iid:/ { name = interned["event_names", $2] }
/^    name:/ { name = text($0) }

/^\}/ && uuid { names[uuid] = tid ? pid "/" tid : pid ? pid : name }
/^\}/ && (type == "TYPE_SLICE_BEGIN" || type == "TYPE_INSTANT") {
	line = track "\t" names[track] "\t" at "\t" category "\t" name
	if (type == "TYPE_INSTANT")
		show(line, at)
	else
		open[track] = line # an end comes right after its begin
}
/^\}/ && type == "TYPE_SLICE_END" { show(open[track], at) }
