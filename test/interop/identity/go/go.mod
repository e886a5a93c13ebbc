module portcullis.test/interop/identity

go 1.26.0

require github.com/gophercloud/gophercloud/v2 v2.15.0
